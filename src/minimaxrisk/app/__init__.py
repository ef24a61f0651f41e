"""The program on top of the library: data files, model files, the report and the command line.

It needs the extra ``app``. The library never imports it.
"""
