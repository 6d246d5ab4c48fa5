import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { startEmulator, type EmulatorOptions } from '../../packages/emulator/src/emulator.ts'
import type { Addresses } from '../../packages/emulator/src/venues/registry.ts'

/** An emulator in a process of its own. */
export type EmulatorProcess = {
  readonly addresses: Addresses
  /** Resolves when its log is written. */
  close(): Promise<void>
}

/**
 * Starts an emulator apart: a test that reads tapes and waits for programs would hold up the venues, which
 * recorders take for silence. It ends with this process.
 */
export async function startEmulatorProcess(options: EmulatorOptions): Promise<EmulatorProcess> {
  const args = [import.meta.filename, JSON.stringify(options)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const [first] = (await Promise.race([once(lines, 'line'), ended.then(() => [])])) as [string?]
  if (first === undefined) throw new Error('the emulator ended before it listened')
  return {
    addresses: JSON.parse(first) as Addresses,
    async close() {
      child.stdin.end()
      await ended
    },
  }
}

if (import.meta.main) {
  const emulator = await startEmulator(JSON.parse(process.argv[2]!) as EmulatorOptions)
  console.log(JSON.stringify(emulator.addresses))
  process.stdin.resume()
  await once(process.stdin, 'end')
  await emulator.close()
}
