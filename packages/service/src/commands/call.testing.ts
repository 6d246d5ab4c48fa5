import { createProcessIo } from '@priorbook/sdk/command-line'
import { main } from '../main.ts'

/** How a call of `priorbook-server` ended, and what it printed. */
export type Called = { readonly code: number; readonly out: string; readonly err: string }

/** Runs `priorbook-server` in this process, which is faster than starting one. */
export async function callServer(...args: string[]): Promise<Called> {
  const said = { out: '', err: '' }
  const code = await main(args, {
    ...createProcessIo(),
    write: async (text) => void (said.out += text.toString()),
    note: (line) => void (said.err += `${line}\n`),
  })
  return { code, ...said }
}
