import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pythonOfPeers } from '../../bench/peers/install-python.ts'

/** The Python with other people's programs; tests that need one are skipped without it. */
export const PYTHON = pythonOfPeers()

// Compiling what is imported the first time takes a minute on a busy machine.
const MAX_RUN_MS = 240_000

/** Runs a program and returns the JSON value that it prints last. */
export function runPython(program: string, args: readonly string[]): Promise<unknown> {
  return run(['-c', program, ...args])
}

/** Runs a file of this folder and returns the JSON value that it prints last. */
export function runPythonFile(name: string, args: readonly string[]): Promise<unknown> {
  return run([join(import.meta.dirname, name), ...args])
}

async function run(args: readonly string[]): Promise<unknown> {
  const child = spawn(PYTHON!, args, { timeout: MAX_RUN_MS })
  let out = ''
  let problems = ''
  child.stdout.on('data', (bytes) => (out += String(bytes)))
  child.stderr.on('data', (bytes) => (problems += String(bytes)))
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`Python ended with ${String(code)}: ${problems.slice(-2000)}`)
  return JSON.parse(out.trimEnd().split('\n').at(-1)!)
}
