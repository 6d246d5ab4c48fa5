import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { ScheduledFault } from '../../packages/emulator/src/faults/schedule.ts'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { check, type Verdict } from './checker.ts'
import { pause, start } from './harness.ts'

/** One recording of all venues under faults. */
export type FaultRun = {
  readonly seed: string
  readonly speed: number
  readonly faults: readonly ScheduledFault[]
  /** How long it is recorded, faults included. */
  readonly forMs: number
}

/** What the checker says, and where tape and journal differ. */
export type FaultResult = { readonly verdict: Verdict; readonly differences: readonly string[] }

/**
 * Records and judges in a process of its own: the checker of one run would hold up the recorders of
 * those beside it for seconds.
 */
export async function recordApart(run: FaultRun): Promise<FaultResult> {
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(run)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const line = out.trim().split('\n').at(-1) ?? ''
  if (!line.startsWith('{')) throw new PriorbookError('invalid_argument', `${out}\n${err}`)
  return JSON.parse(line) as FaultResult
}

async function record({ seed, speed, faults, forMs }: FaultRun): Promise<FaultResult> {
  const run = await start({ seed, speed, faults })
  try {
    await pause(forMs)
    const until = await run.stop()
    const verdict = await check(run.emulator.truth.entries, run.store, { until: until - 200_000 })
    await run.store.seal()
    const { differences, damage } = await compareWithJournal(run.store, run.data)
    return { verdict, differences: [...differences, ...damage].map((one) => JSON.stringify(one)) }
  } finally {
    await run.destroy()
  }
}

if (import.meta.main) {
  const result = await record(JSON.parse(process.argv[2]!) as FaultRun)
  console.log(JSON.stringify(result))
}
