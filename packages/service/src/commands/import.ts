import { printCount as count, ProgressBar, UsageError } from '@priorbook/sdk/command-line'
import { importRecordings } from '../derive/import.ts'
import { IMPORT_VENUES } from '../venues/registry.ts'
import { findRecordings } from '../derive/merge-recordings.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { tellUpgrade } from './tell-upgrade.ts'

const SHOWN = 20

const VENUES = IMPORT_VENUES.join('|')

/** `priorbook-server import VENUE FILES…` */
export const importCommand = defineCommand({
  name: 'import',
  args: `${VENUES} FILES…`,
  about:
    'Imports recorded messages (.ndjson, .jsonl, .json; plain, .gz or .zst) into a data folder.',
  options: {},
  examples: [`priorbook-server import ${IMPORT_VENUES[0]} --data data recordings/`],
  async run(context) {
    const { data, io } = context
    const [name, ...paths] = context.args
    const venue = IMPORT_VENUES.find((one) => one === name)
    if (venue === undefined) {
      throw new UsageError(`name the venue: import ${VENUES} FILES…`)
    }
    if (paths.length === 0) throw new UsageError('name files or folders')
    const { files, skipped } = findRecordings(paths)
    const started = performance.now()
    const store = openEmbeddedStore({ file: data.tape, onUpgrade: tellUpgrade() })
    const bar = new ProgressBar(io, 'import')
    try {
      const report = await importRecordings({
        store,
        journalDir: data.journal,
        venue,
        files,
        onProgress: (done, total, lines) => bar.update(done, total, `${count(lines)} lines`),
      })
      bar.end()
      const seconds = (performance.now() - started) / 1000
      const { known, problems } = report
      const lines = [
        ...skipped.map(({ path, why }) => `skipped ${path}: ${why}`),
        ...known.map((path) => `skipped ${path}: imported before`),
        ...report.foreign.map((path) => `skipped ${path}: JSON, but not a recorded answer`),
        ...problems
          .slice(0, SHOWN)
          .map(({ where, code, detail }) => `problem ${where}: ${code}: ${detail}`),
        ...(problems.length > SHOWN ? [`… and ${problems.length - SHOWN} more problems`] : []),
        `${count(report.lines)} lines, ${count(report.observations)} observations, ${count(report.trades)} trades, ${count(report.revisions)} market revisions, ${count(report.quarantined)} quarantined in ${seconds.toFixed(1)} s`,
      ]
      if (report.skippedLines > 0)
        lines.push(`${count(report.skippedLines)} lines were known already`)
      if (report.unapplied > 0) {
        lines.push(`${count(report.unapplied)} changes came without a full book and are gaps`)
      }
      await print(context, { ...report, skipped, seconds }, lines)
      return problems.length === 0 ? 0 : 1
    } finally {
      bar.end()
      await store.close()
    }
  },
})
