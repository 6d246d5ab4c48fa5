import { openEmbeddedStore } from '../store/embedded/open.ts'
import { count, parseArguments, print, type Command } from './command.ts'

/** `priorbook-server seal` */
export const sealCommand: Command = {
  name: 'seal',
  usage: 'seal [--data DIR]',
  about: 'Packs everything that was appended into chunks, as the recorder does by itself in time.',
  examples: ['priorbook-server seal --data data'],
  async run(args) {
    const { data, json } = parseArguments(args)
    const store = openEmbeddedStore({ file: data.tape })
    try {
      const report = await store.seal()
      print(json, report, [
        `${count(report.rows)} rows packed, ${count(report.chunks)} chunks sealed`,
      ])
      return 0
    } finally {
      await store.close()
    }
  },
}
