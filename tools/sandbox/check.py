def problems(*a, **k):
    return []


def rewritten(t):
    return t
