import { openEmbeddedStore } from '../open.ts'
import { moveAll } from './cold-store.testing.ts'

// A child of the test that kills a mover: moves all chunks of a tape, and says when it begins and ends.
const [file, address] = process.argv.slice(2) as [string, string]
const store = openEmbeddedStore({ file })
console.log('moving')
await moveAll(store, address)
console.log('moved')
await store.close()
