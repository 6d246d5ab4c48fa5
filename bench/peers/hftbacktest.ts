import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { convertReplay } from '../../packages/sdk/src/convert/convert-files-node.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'
import { pythonOfPeers } from './install-python.ts'

const PROGRAM = join(import.meta.dirname, 'hftbacktest_taker.py')

/** What the loop took with one kind of depth. */
type DepthTimes = { readonly cpu_seconds: number; readonly orders: number }

/** CPU seconds of hftbacktest's compiled loop by kind of depth, or why there are none. */
export type HftbacktestTimes =
  | { readonly hashmap: DepthTimes; readonly roivector: DepthTimes }
  | { readonly reason: string }

/**
 * Runs the taker of the backtest's benchmark in hftbacktest, over the markets of tape files, as many times
 * as there are copies of them.
 */
export async function measureHftbacktest(
  files: readonly string[],
  folder: string,
  copies: number,
  python: string | undefined = pythonOfPeers(),
): Promise<HftbacktestTimes> {
  if (python === undefined) {
    return { reason: 'not installed: npm run bench:peers -- backtest installs it' }
  }
  const order = { replay: replayFiles(files), tool: 'hftbacktest', folder, isForced: true } as const
  const paths = (await convertReplay(order)).map(({ path }) => join(folder, path))
  const child = spawnSync(python, [PROGRAM, String(copies), ...paths], { encoding: 'utf8' })
  if (child.status !== 0) {
    const said = (child.error?.message ?? child.stderr).trimEnd().split('\n').at(-1) ?? ''
    return { reason: `hftbacktest failed: ${said}` }
  }
  return JSON.parse(child.stdout.trimEnd().split('\n').at(-1)!) as HftbacktestTimes
}
