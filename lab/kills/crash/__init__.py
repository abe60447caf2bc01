"""Kills children that carry out tasks, and judges what came of it: a trial, its child, the driver, lists of trials."""
