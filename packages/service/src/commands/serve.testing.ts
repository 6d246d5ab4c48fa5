import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'

const BIN = fileURLToPath(new URL('../../bin/priorbook-server.mjs', import.meta.url))

/** `serve` in a process of its own, as an operator runs it. */
export type ServeProcess = {
  /** The address of the API, as it was printed. */
  readonly url: string
  /** The address of the operators' port. */
  readonly ops: string
  readonly child: ChildProcess
  /** Everything that it printed so far, on both outputs. */
  readonly printed: () => string
  /** The exit code; null after a signal. */
  readonly ended: Promise<number | null>
  /** Sends a signal and gives the exit code. */
  readonly end: (signal?: 'SIGTERM' | 'SIGKILL') => Promise<number | null>
}

/**
 * Starts `serve` in a folder, on ports of its own unless the arguments name them; resolves when it printed
 * its addresses, or ended.
 */
export async function startServe(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServeProcess> {
  const ports = args.includes('--port') ? [] : ['--port', '0']
  const child = spawn(process.execPath, [BIN, 'serve', ...args, ...ports], {
    cwd,
    env: { ...process.env, PRIORBOOK_OPS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', (part) => (text += String(part)))
  child.stderr.on('data', (part) => (text += String(part)))
  // Closed, not only ended: all that it printed is here.
  const closed = new AbortController()
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  void ended.then(() => closed.abort())
  while (!/^ {2}curl/m.test(text) && !closed.signal.aborted) await pause(20)
  return {
    url: /(https?:\/\/\S+)\/docs/.exec(text)?.[1] ?? '',
    ops: /^status (\S+)\/ /m.exec(text)?.[1] ?? '',
    child,
    printed: () => text,
    ended,
    end(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    },
  }
}
