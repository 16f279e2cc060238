"""End-to-end encryption: where keys come from, and how entries are decrypted (docs/how-to/encryption.md)."""
