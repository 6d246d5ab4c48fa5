// The sources are TypeScript: without a cache every start strips and compiles all of them again, which
// is half of the time until a command does something. Processes that this one starts use it too.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const FLUSH_MS = 3000

const folder = fileURLToPath(new URL('../node_modules/.cache/priorbook', import.meta.url))
const { directory } = enableCompileCache(folder)
if (directory !== undefined) {
  process.env['NODE_COMPILE_CACHE'] ??= directory
  // A process that is killed would leave nothing for the next one.
  setTimeout(flushCompileCache, FLUSH_MS).unref()
}
