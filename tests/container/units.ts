import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { check, has, must, Skipped, type Steps } from './steps.ts'

const UNITS = join(import.meta.dirname, '../../deploy/systemd')
// In tenths: 0 is the most closed, 100 open.
const MAX_EXPOSURE = 20

/** The units of systemd, by its own programs; they are not started. */
export async function tryUnits(steps: Steps, scratch: string): Promise<void> {
  for (const name of readdirSync(UNITS)) {
    await steps.try(`systemd-analyze ${name}`, () => {
      if (!has('systemd-analyze')) throw new Skipped('systemd-analyze is not installed')
      // The program is not installed here: the unit is verified with another one in its place.
      const program = join(scratch, 'priorbook-server')
      writeFileSync(program, '#!/bin/sh\n')
      chmodSync(program, 0o755)
      const folder = join(scratch, 'units')
      mkdirSync(folder, { recursive: true })
      const text = readFileSync(join(UNITS, name), 'utf8')
      const own = /^ExecStart=\/opt\/priorbook\/node_modules\/\.bin\/priorbook-server serve/m
      check(own.test(text), 'it does not start the installed package')
      writeFileSync(join(folder, name), text.replace(own, `ExecStart=${program} serve`))
      must('systemd-analyze', ['verify', '--man=no', join(folder, name)])
      const limit = ['--offline=yes', `--threshold=${MAX_EXPOSURE}`]
      const report = must('systemd-analyze', ['security', ...limit, join(folder, name)])
      return /exposure level for \S+ (\S+)/.exec(report)![1]!
    })
  }
}
