import { printBytes, printCount, textOption, UsageError } from '@priorbook/sdk/command-line'
import { parseAmount } from '../config/retention.ts'
import { packBoundary, packTape } from '../retention/tape-packer.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'
import { tellUpgrade } from './tell-upgrade.ts'

/** `priorbook-server tape` */
export const tapeCommand = defineCommand({
  name: 'tape',
  args: 'pack',
  mostArgs: 1,
  about:
    'Packs old chunks of the tape, by which they take about a tenth less. A running serve does the same in the background.',
  more: 'Chunks stay what they are: rows, hashes, downloads and proofs do not change. The space is used by later rows; backup writes a file without it.',
  options: {
    older: textOption(
      'AGE',
      'Pack days whose rows are all older than this, such as 30d; tape.packAfter by default.',
    ),
    ...CONFIG_OPTION,
  },
  examples: ['priorbook-server tape pack --older 1d --data data'],
  async run(context) {
    const { data, options, args } = context
    if (args[0] !== 'pack') throw new UsageError('say what to do: pack')
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
