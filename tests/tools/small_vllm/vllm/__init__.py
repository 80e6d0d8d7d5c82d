raise RuntimeError("the extractor must not import this")
