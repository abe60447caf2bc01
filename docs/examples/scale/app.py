"""The app that aegra.json names under `http.app`: aegra puts its routes into it, behind RestGPT's check of access."""

from fastapi import FastAPI

from restgpt.server.app import GuardedApp


class GuardedFastAPI(GuardedApp, FastAPI):
    """The guarded app as the kind of app that aegra takes."""


app = GuardedFastAPI(title="RestGPT")
