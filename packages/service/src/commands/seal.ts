import { printCount } from '@priorbook/sdk/command-line'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { tellUpgrade } from './tell-upgrade.ts'

/** `priorbook-server seal` */
export const sealCommand = defineCommand({
  name: 'seal',
  args: '',
  mostArgs: 0,
  about: 'Packs all appended rows into chunks; the recorder does the same in the background.',
  options: {},
  examples: ['priorbook-server seal --data data'],
  async run(context) {
    const store = openEmbeddedStore({ file: context.data.tape, onUpgrade: tellUpgrade() })
    try {
      const report = await store.seal()
      await print(context, report, [
        `${printCount(report.rows)} rows packed, ${printCount(report.chunks)} chunks sealed`,
      ])
    } finally {
      await store.close()
    }
  },
})
