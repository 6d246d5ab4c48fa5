import type { Replay } from '../replay/index.ts'
import type { ToolFormat } from '../wire/index.ts'
import { createHftbacktestWriter } from './hftbacktest-node.ts'
import { createNautilusWriter } from './nautilus-node.ts'
import { OutFolder } from './out-folder-node.ts'
import type { ToolFile, ToolWriter } from './step.ts'
import { createTardisWriter } from './tardis-node.ts'
import { Steps } from './to-steps.ts'

const TOOLS: Readonly<Record<ToolFormat, (folder: OutFolder) => ToolWriter>> = {
  hftbacktest: createHftbacktestWriter,
  nautilus: createNautilusWriter,
  tardis: createTardisWriter,
}

/** What to convert, and where to. */
export type ConvertOrder = {
  readonly replay: Replay
  readonly tool: ToolFormat
  readonly folder: string
  /** True where files in the folder may be replaced. */
  readonly isForced: boolean
  /** Called before bytes are written; may throw to end the work. */
  readonly onBytes?: (bytes: number) => void
}

// Steps between two looks at how much waits in memory.
const FLUSH_STEPS = 4096

/** Writes a replay as files of another tool. The folder gets finished files only. */
export async function convertReplay(order: ConvertOrder): Promise<readonly ToolFile[]> {
  const { replay } = order
  const folder = new OutFolder(order.folder, order.onBytes)
  await folder.open(order.isForced)
  try {
    const writer = TOOLS[order.tool](folder)
    const steps = new Steps()
    let count = 0
    for await (const batch of replay) {
      for (const event of batch) {
        for (const step of steps.stepsOf(event, replay.instruments)) writer.take(step)
        // What is left of the batch comes with the next one.
        if (++count % FLUSH_STEPS === 0) break
      }
      await writer.flush()
    }
    return await writer.finish(replay.markets)
  } finally {
    await folder.close()
  }
}
