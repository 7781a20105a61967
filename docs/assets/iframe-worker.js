// Search for pages that are opened from the disk. Browsers refuse to start a worker from file://, so the search worker runs in a hidden
// frame of the page instead, behind the interface of a worker. On a web server nothing is changed.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      const start = () => {
        const inside = this.frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = (...scripts) => scripts.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve());
        this.load(address).then(() => {
          this.ready = true;
          this.waiting.splice(0).forEach((data) => this.postMessage(data));
        });
      };
      const open = () => { document.body.append(this.frame); start(); };
      if (document.body) open(); else addEventListener("DOMContentLoaded", open);
    }

    load(address) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        Object.assign(script, { src: new URL(address, location.href).href, onload: done, onerror: failed });
        this.frame.contentDocument.head.append(script);
      });
    }

    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
