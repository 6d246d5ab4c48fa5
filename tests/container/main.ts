// Builds, runs and checks what is in deploy/, where that is possible, and says what it left out.
//   npm run test:container [-- units|compose|chart|image]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tryChart } from './chart.ts'
import { tryCompose } from './compose.ts'
import { tryImage } from './image.ts'
import { Steps } from './steps.ts'
import { tryUnits } from './units.ts'

const PARTS = { units: tryUnits, compose: tryCompose, chart: tryChart, image: tryImage }

const wanted = process.argv.slice(2)
const steps = new Steps()
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-container-'))
try {
  for (const [name, part] of Object.entries(PARTS)) {
    if (wanted.length === 0 || wanted.includes(name)) await part(steps, scratch)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exitCode = steps.end()
