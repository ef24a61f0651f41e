"""One module per command: what it takes and says. The work is done by the modules beside this folder."""
