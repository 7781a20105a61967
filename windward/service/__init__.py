"""The service: studies over HTTP, with tokens, for people and systems that do not import Python.

`settings.py` says how it runs, `tokens.py` who may do what, `fits.py` where fits are computed (other processes, so that one
never blocks a request), `shelf.py` which studies are open, `guard.py` what every request passes, `bodies.py` what it may
say, `app.py` the routes, `run.py` the server. FastAPI and uvicorn are imported in these modules alone.
"""
