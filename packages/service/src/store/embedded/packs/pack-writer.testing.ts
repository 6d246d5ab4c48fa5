import { openEmbeddedStore } from '../open.ts'
import { packAll } from './packing-store.testing.ts'

// A child of the test that kills a packer: packs all chunks of a tape, and says when it begins and ends.
const [file] = process.argv.slice(2) as [string]
const store = openEmbeddedStore({ file })
console.log('packing')
await packAll(store)
console.log('packed')
await store.close()
