import { at, writeReferences } from './reference-tape.ts'
import { serveTape } from './serve-tape.ts'

await serveTape(writeReferences, () => at(1000))
