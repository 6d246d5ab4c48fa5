import { flagOption, printCount as count, ProgressBar } from '@priorbook/sdk/command-line'
import { catchUp } from '../recorder/catch-up.ts'
import {
  compareStores,
  journaledVenues,
  refuseMerged,
  refuseTrimmed,
  withRebuilt,
} from '../derive/rebuild.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { replaceTape } from '../derive/replace-tape.ts'
import { defineCommand, print, type ServerContext } from './command.ts'
import { tellUpgrade } from './tell-upgrade.ts'

/** `priorbook-server rebuild` */
export const rebuildCommand = defineCommand({
  name: 'rebuild',
  args: '',
  mostArgs: 0,
  about: 'Derives the tape again from the journal and compares the chunk hashes.',
  options: {
    adopt: flagOption('Replace rows that differ; known_at still returns the old ones.'),
    fresh: flagOption(
      'Put a new tape in the place of one that cannot be opened; keeps the old one.',
    ),
  },
  examples: [
    'priorbook-server rebuild --data data',
    'priorbook-server rebuild --adopt',
    'priorbook-server rebuild --fresh',
  ],
  async run(context) {
    const { data, options, io } = context
    if (options.fresh) return rebuildFresh(context)
    const store = openEmbeddedStore({ file: data.tape, onUpgrade: tellUpgrade() })
    const bar = new ProgressBar(io, 'rebuild')
    try {
      await refuseMerged(store)
      await refuseTrimmed(store, data)
      for (const venue of journaledVenues(data)) await catchUp(store, data.journal, venue)
      await store.seal()
      const progress = (done: number, total: number): void =>
        bar.update(done, total, `${count(done)} records`)
      return await withRebuilt(
        { data, onProgress: progress },
        async (rebuilt, { records, damage }, file) => {
          const { chunks, differences } = await compareStores(store, rebuilt)
          const adopted = options.adopt ? await store.adopt(file, Date.now() * 1000) : []
          bar.end()
          const verdict =
            differences.length === 0
              ? `${count(chunks)} chunks of ${count(records)} records derived again: all hashes equal`
              : `${differences.length} differences${options.adopt ? '' : ': look at them, then run rebuild --adopt to take over the new rows'}`
          await print(context, { records, chunks, differences, damage, adopted }, [
            ...damage.map(
              ({ file, reason, offset }) => `journal damage ${file} at ${offset}: ${reason}`,
            ),
            ...differences.map(({ where, detail }) => `differs ${where}: ${detail}`),
            ...adopted.map((name) => `adopted ${name}`),
            verdict,
          ])
          return differences.length === adopted.length ? 0 : 1
        },
      )
    } finally {
      bar.end()
      await store.close()
    }
  },
})

async function rebuildFresh(context: ServerContext): Promise<number> {
  const { data, io } = context
  const bar = new ProgressBar(io, 'rebuild')
  try {
    const { records, movedTo } = await replaceTape(data, Date.now(), (done, total) =>
      bar.update(done, total, `${count(done)} records`),
    )
    bar.end()
    const kept = movedTo === undefined ? '' : `; the old one is ${movedTo}`
    await print(context, { records, moved_to: movedTo ?? null }, [
      `a new tape was derived from ${count(records)} journal records${kept}`,
    ])
    return 0
  } finally {
    bar.end()
  }
}
