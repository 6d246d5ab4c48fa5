#!/usr/bin/env node
import '../../../scripts/check-node.mjs'

const { main } = await import('../src/cli/main.ts')
process.exitCode = await main(process.argv.slice(2))
