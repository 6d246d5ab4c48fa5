import { printCount } from '@priorbook/sdk/command-line'
import { printMicros, type Micros } from '@priorbook/sdk/domain'
import { ProofSigner } from '../proofs/proof-signer.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { parseAmount } from '../config/retention.ts'
import { CONFIG_OPTION, readConfig } from './command-config.ts'

/** `priorbook-server prove` */
export const proveCommand = defineCommand({
  name: 'prove',
  args: '',
  mostArgs: 0,
  about: 'Signs the roots of all days that are over; a running serve does the same by itself.',
  options: { ...CONFIG_OPTION },
  examples: ['priorbook-server prove --data data'],
  async run(context) {
    const { data } = context
    const { delayMs, age } = readConfig(context.options.config).proofs
    const ageMicros = parseAmount(age)
    const store = openEmbeddedStore({ file: data.tape })
    try {
      const signer = new ProofSigner({ store, folder: data.path, delayMs, ageMicros })
      try {
        await store.seal()
        const roots = await signer.pass(true)
        const rows = roots.map(({ day, number, size, root }) => ({
          day: printMicros(day as Micros).slice(0, 10),
          number,
          chunks: size,
          root,
        }))
        const key = signer.publicKey
        await print(context, { key, signed: rows }, [
          ...rows.map(
            ({ day, number, chunks, root }) =>
              `${day} number ${number}: ${printCount(chunks)} chunks, root ${root}`,
          ),
          ...(rows.length === 0 ? ['nothing new to sign'] : []),
          `public key ${key}`,
        ])
      } finally {
        signer.close()
      }
    } finally {
      await store.close()
    }
  },
})
