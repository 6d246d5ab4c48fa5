import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import type { BacktestRunner } from '../../mcp/index.ts'
import { defineCommand, type ServiceAddress } from '../command.ts'
import { CliError } from '../errors.ts'

/** `mcp`: the service as tools for a model, over the standard streams. */
export const MCP = defineCommand({
  name: 'mcp',
  args: '',
  mostArgs: 0,
  about: 'Offer the service to a model as tools (Model Context Protocol, over standard streams).',
  more:
    'For the configuration of a client: the command is `priorbook mcp`, with PRIORBOOK_URL and PRIORBOOK_KEY ' +
    'in its environment, or with --demo. A service offers the same tools at /mcp.',
  options: {},
  examples: ['priorbook mcp --demo', 'priorbook mcp --url https://priorbook.example'],
  async run(context) {
    // Only this command needs the protocol, so it alone loads it.
    const { serveStdio } = await import('../../mcp/index.ts').catch(explainMissing)
    const backtest = backtestRunner(context.service)
    await serveStdio({ client: context.client(), backtest }, context.signal)
  },
})

// The library of the protocol is an optional part of the package: only this command needs it.
function explainMissing(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
  const hint = 'npm install @modelcontextprotocol/sdk'
  throw new CliError('failed', 'the library of the Model Context Protocol is not installed', hint)
}

const KILL_MS = 2_000

// The command runs in a process of its own, so that a strategy cannot hold up the tools. Only files below the
// working folder are run: a model may be told by a web page to run something else.
function backtestRunner({ url, key, demo }: ServiceAddress): BacktestRunner {
  return async (args, { seconds, signal }) => {
    const strategy = args.at(-1)!
    const outside = outsideOf(process.cwd(), strategy)
    if (outside !== undefined) return { status: null, text: outside }
    const own = [...process.execArgv, process.argv[1]!, 'backtest', '--url', url, '--no-color']
    const child = spawn(process.execPath, [...own, ...(demo ? ['--demo'] : []), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...(key === undefined ? {} : { PRIORBOOK_KEY: key }) },
    })
    let text = ''
    child.stdout.on('data', (bytes: Buffer) => (text += bytes.toString()))
    child.stderr.on('data', (bytes: Buffer) => (text += bytes.toString()))
    const stop = (): void => {
      child.kill('SIGTERM')
      setTimeout(() => child.kill('SIGKILL'), KILL_MS).unref()
    }
    const timer = setTimeout(() => {
      text += `\nstopped after ${seconds} s\n`
      stop()
    }, seconds * 1000)
    signal.addEventListener('abort', stop, { once: true })
    const status = await new Promise<number | null>((done) => child.once('close', done))
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    return { status, text }
  }
}

function outsideOf(folder: string, file: string): string | undefined {
  if (!existsSync(file)) return `there is no file ${file}`
  const path = relative(realpathSync(folder), realpathSync(resolve(file)))
  if (!path.startsWith('..') && !isAbsolute(path)) return undefined
  return `${file} is outside of the working folder: only files below it are run`
}
