import { hash } from 'node:crypto'
import { printLines, textOption } from '../../command-line/index.ts'
import { leadingZeroBits } from '../../wire/index.ts'
import { defineCommand, printJson } from '../command.ts'

/** `signup`: a key of the free plan, where the service gives them out. */
export const SIGNUP = defineCommand({
  name: 'signup',
  args: '',
  mostArgs: 0,
  about: 'Get a key of the free plan, where the operator of the service has opened sign-up.',
  more: 'Solves a puzzle, which takes some seconds of a processor, and prints the key once.',
  options: { name: textOption('NAME', 'A name for the key.') },
  examples: ['priorbook signup --url https://books.example.org --name research'],
  async run(context) {
    const { isJson, io, signal, options } = context
    const client = context.client()
    const { data: puzzle } = await client.signupChallenge({ signal })
    const nonce = await solve(puzzle.challenge, puzzle.bits, signal)
    const { name } = options
    const solved = { challenge: puzzle.challenge, nonce, ...(name === undefined ? {} : { name }) }
    const { data } = await client.signup(solved, { signal })
    if (isJson) await printJson(context, data)
    else await printLines(io, [data.key])
  },
})

// Hashes between two looks at Ctrl-C.
const SLICE = 50_000

async function solve(challenge: string, bits: number, signal: AbortSignal): Promise<string> {
  for (let nonce = 0; ; nonce++) {
    if (nonce % SLICE === 0) {
      signal.throwIfAborted()
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
    }
    const work = leadingZeroBits(hash('sha256', `${challenge}:${nonce}`, 'buffer'))
    if (work >= bits) return String(nonce)
  }
}
