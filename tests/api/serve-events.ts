import { at, writeEvents } from './events-tape.ts'
import { serveTape } from './serve-tape.ts'

await serveTape(writeEvents, () => at(400))
