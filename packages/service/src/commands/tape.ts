import { existsSync } from 'node:fs'
import {
  printBytes,
  printCount,
  ProgressBar,
  textOption,
  UsageError,
} from '@priorbook/sdk/command-line'
import { PriorbookError } from '@priorbook/sdk/domain'
import { parseAmount } from '../config/retention.ts'
import { packBoundary, packTape } from '../retention/tape-packer.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print, type ServerContext } from './command.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'
import { tellUpgrade } from './tell-upgrade.ts'

/** `priorbook-server tape` */
export const tapeCommand = defineCommand({
  name: 'tape',
  args: 'pack|recount',
  mostArgs: 1,
  about:
    'Packs old chunks of the tape, by which they take about a tenth less, as a running serve does in the background; or makes its lists and sums again.',
  more: 'Chunks stay what they are: rows, hashes, downloads and proofs do not change. The space is used by later rows; backup writes a file without it. recount makes lists of markets and events, words, tags and sums by day from the rows, where verify finds that they differ.',
  options: {
    older: textOption(
      'AGE',
      'Pack days whose rows are all older than this, such as 30d; tape.packAfter by default.',
    ),
    ...CONFIG_OPTION,
  },
  examples: [
    'priorbook-server tape pack --older 1d --data data',
    'priorbook-server tape recount --data data',
  ],
  async run(context) {
    const { data, options, args } = context
    if (args[0] === 'recount') return recount(context)
    if (args[0] !== 'pack') throw new UsageError('say what to do: pack or recount')
    const given = new Map<string, string>()
    if (options.older !== undefined) given.set('tape.packAfter', options.older)
    const { tape } = readConfig(options.config, given)
    const before = packBoundary(Date.now() * 1000, parseAmount(tape.packAfter) ?? Infinity)
    const store = openEmbeddedStore({ file: data.tape, onUpgrade: tellUpgrade() })
    try {
      await store.seal()
      const packed = await packTape(store, (made) => store.replaceByPack(made), { before })
      const { packs, chunks, rows, bytes } = packed
      await print(context, packed, [
        `packed ${printCount(chunks)} chunks of ${printCount(rows)} rows in ${printCount(packs)} packs, ${printBytes(bytes)}`,
      ])
    } finally {
      await store.close()
    }
  },
})

async function recount(context: ServerContext): Promise<void> {
  const { data, io } = context
  if (!existsSync(data.tape)) {
    throw new PriorbookError('store_unavailable', `${data.tape} does not exist`)
  }
  const store = openEmbeddedStore({ file: data.tape, onUpgrade: tellUpgrade() })
  const bar = new ProgressBar(io, 'recount')
  try {
    await store.recount((done, total, what) => bar.update(done, total, what))
    bar.end()
    await print(context, { recounted: true }, ['lists and sums are made again from the rows'])
  } finally {
    bar.end()
    await store.close()
  }
}
