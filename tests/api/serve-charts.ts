import { at, writeCharts } from './charts-tape.ts'
import { serveTape } from './serve-tape.ts'

await serveTape(writeCharts, () => at(3600))
