import { afterAll, type TestContext } from 'vitest'
import type { Running } from './harness.ts'

/**
 * What all tests of a file look at: made for the first of them, and made again where a test is tried again, because what
 * was recorded while the machine stood still stays as it is.
 */
export function recordedFor<Recorded>(
  begin: () => Promise<Running>,
  record: (run: Running) => Promise<Recorded>,
): (context: TestContext) => Promise<Recorded & { readonly run: Running }> {
  let run: Running | undefined
  let recorded: Promise<Recorded & { readonly run: Running }> | undefined
  const make = async (): Promise<Recorded & { readonly run: Running }> => {
    run = await begin()
    return { ...(await record(run)), run }
  }
  const drop = async (): Promise<void> => {
    await run?.destroy()
    run = undefined
    recorded = undefined
  }
  afterAll(drop)
  return async ({ task }) => {
    if ((task.result?.retryCount ?? 0) > 0) await drop()
    recorded ??= make()
    return recorded
  }
}
