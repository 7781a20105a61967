"""The service: studies over HTTP, with tokens, for people and systems that do not import Python.

`settings.py` says how it runs; `tokens.py`, `gate.py` and `access.py` who may do what; `fits.py` which fit is computed next,
`fitter.py` the processes that compute them (so that one never blocks a request), `jobs.py` what they compute; `shelf.py` which
studies are open; `guard.py` and `protocol.py` what every request passes; `bodies.py` what it may say; `app.py` the routes;
`run.py` the server. FastAPI and uvicorn are imported in these modules alone.
"""
