import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateRecordings } from './generator.ts'

/** Where the data of a benchmark comes from, for its report. */
export type TapeFolder = {
  readonly folder: string
  readonly source: 'recordings' | 'generator'
}

/** Gives the recordings folder of this machine, or generates one below the work folder. */
export function prepareTape(workFolder: string, seed: number): TapeFolder {
  const recorded = process.env['PRIORBOOK_RECORDINGS']
  if (recorded !== undefined && recorded !== '') return { folder: recorded, source: 'recordings' }
  const folder = join(workFolder, `generated-${seed}`)
  const marker = join(folder, 'complete')
  if (!existsSync(marker)) {
    generateRecordings(folder, seed)
    writeFileSync(marker, '')
  }
  return { folder, source: 'generator' }
}
