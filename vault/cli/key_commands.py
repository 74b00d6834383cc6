"""keys: the commands on the data keys of the keyring, together."""

from vault.cli import key_files, keys, moving, shredding

__all__ = ["app"]

app = keys.app
app.command(name="move")(moving.move_keys)
app.command(name="shred")(shredding.shred_keyring)
app.command(name="new-file")(key_files.new_key_file)
