import { PriorbookError } from '@priorbook/sdk/domain'
import { serveCommand } from '../../packages/service/src/commands/serve.ts'
import { boundYoungGeneration } from '../../packages/service/src/lib/memory.ts'

// `priorbook-server serve` for as long as the program does not list the command: run as a process.
boundYoungGeneration()
try {
  process.exitCode = await serveCommand.run(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof PriorbookError)) throw error
  console.error(`priorbook-server serve: ${error.code}: ${error.message}`)
  process.exitCode = 1
}
