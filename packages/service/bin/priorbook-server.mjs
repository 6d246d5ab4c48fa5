#!/usr/bin/env -S node --max-semi-space-size=4
// The flag bounds V8's young generation: by default short-lived objects of an import hold 150 MB.
import '../../../scripts/check-node.mjs'
import '../../../scripts/compile-cache.mjs'

// What a server records, its keys and its backups are for its own user: files 0600, folders 0700.
process.umask(0o077)

const { main } = await import('../src/main.ts')
process.exitCode = await main(process.argv.slice(2))
