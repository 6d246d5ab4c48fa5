import { writeFileSync } from 'node:fs'
import { generatedModules, PACKAGE } from './generated-modules.ts'

// Writes the generated modules of the Python package. Run it when routes or rows change; a test fails then.
for (const [name, text] of Object.entries(generatedModules())) {
  writeFileSync(new URL(name, PACKAGE), text)
}
