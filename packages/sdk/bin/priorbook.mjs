#!/usr/bin/env node
import '../../../scripts/check-node.mjs'
import '../../../scripts/compile-cache.mjs'

const { main } = await import('../src/cli/main.ts')
process.exitCode = await main(process.argv.slice(2))
