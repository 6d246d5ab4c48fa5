import { spawn } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Installed } from './install.ts'

/** An official client in a process of its own, whose methods are called one at a time. */
export interface Caller {
  /** The result as the client parsed it; throws what the client threw. */
  call<T>(method: string, args: readonly unknown[] | Readonly<Record<string, unknown>>): Promise<T>
  close(): Promise<void>
}

/** An official client of a venue. */
export type ClientPackage = { readonly language: 'python' | 'javascript'; readonly name: string }

/** Starts a client that is pointed at these addresses. */
export function openCaller(
  { folder, python }: Installed,
  { language, name }: ClientPackage,
  addresses: Readonly<Record<string, string>>,
): Caller {
  const program = language === 'python' ? 'call_client.py' : 'call-client.mjs'
  // Packages are found from the folder of the program.
  const path = join(folder, program)
  copyFileSync(join(import.meta.dirname, program), path)
  const command = language === 'python' ? python('python') : process.execPath
  const child = spawn(command, [path, name, JSON.stringify(addresses)], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (bytes) => (errors += String(bytes)))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async call<T>(method: string, args: Parameters<Caller['call']>[1]) {
      child.stdin.write(`${JSON.stringify({ method, arguments: args })}\n`)
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`${name} ended: ${errors}`)
      const answer = JSON.parse(value) as { result?: unknown; error?: string }
      if (answer.error !== undefined) throw new Error(`${name} ${method}: ${answer.error}`)
      return answer.result as T
    },
    close() {
      child.stdin.end()
      return ended
    },
  }
}
