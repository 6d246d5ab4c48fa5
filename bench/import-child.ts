import { join } from 'node:path'
import { toDataFolder } from '../packages/service/src/lib/data-folder.ts'
import { importRecordings } from '../packages/service/src/recorder/import.ts'
import { findRecordings } from '../packages/service/src/recorder/recording.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import { channelFolder } from './lib/recordings.ts'

// Imports a recordings folder into a data folder and prints how long it took and how much memory.
const [recordings, path] = process.argv.slice(2)
const data = toDataFolder(path!)
const store = openEmbeddedStore({ file: data.tape })
const { files } = findRecordings([join(recordings!, channelFolder)])
await importRecordings({ store, journalDir: data.journal, files })
await store.close()
const seconds = performance.now() / 1000
console.log(JSON.stringify({ seconds, rssMb: process.resourceUsage().maxRSS / 1000 }))
