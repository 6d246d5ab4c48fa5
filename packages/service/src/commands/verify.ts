import { flagOption, printCount as count, ProgressBar } from '@priorbook/sdk/command-line'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { checkAway, readJournal } from '../journal/index.ts'
import { readJournalEnds } from '../derive/journal-end.ts'
import { compareWithJournal } from '../derive/rebuild.ts'
import { checkProofs } from '../proofs/check-proofs.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { tellUpgrade } from './tell-upgrade.ts'

type Problem = Awaited<ReturnType<EmbeddedStore['verify']>>['problems'][number]

/** `priorbook-server verify` */
export const verifyCommand = defineCommand({
  name: 'verify',
  args: '',
  mostArgs: 0,
  about:
    'Checks every checksum, hash chain, sequence and book of the tape, every block of the journal, and every signed root.',
  options: {
    journal: flagOption('Also derive the tape again from the journal and compare.'),
  },
  examples: ['priorbook-server verify --data data', 'priorbook-server verify --journal'],
  async run(context) {
    const { data, options, io } = context
    const store = openEmbeddedStore({
      file: data.tape,
      readOnly: true,
      mayBeFixed: true,
      onUpgrade: tellUpgrade(),
    })
    const bar = new ProgressBar(io, 'verify')
    try {
      const report = await store.verify((done, total, what) => bar.update(done, total, what))
      const problems = [...report.problems]
      let records = 0
      const ends = await readJournalEnds(store, data)
      for (const { venue, last, applied, missing } of ends) {
        if (missing > 0) {
          const detail = `it ends at record ${last}, but the tape has records up to ${applied}: ${count(missing)} are gone`
          problems.push({ code: 'corrupt_journal', where: `journal of ${venue}`, detail })
        }
        for await (const problem of checkAway(data.journal, venue)) problems.push(problem)
        records += readWhole(data.journal, venue, problems)
      }
      if (options.journal) {
        const { differences } = await compareWithJournal(store, data, (done, total) =>
          bar.update(done, total, 'records derived again'),
        )
        for (const { where, detail } of differences) {
          problems.push({ code: 'corrupt_chunk', where, detail })
        }
      }
      const proofs = checkProofs(data.path)
      for (const { where, detail } of proofs.problems) {
        problems.push({ code: 'corrupt_row', where, detail })
      }
      bar.end()
      const pending = ends.reduce((sum, end) => sum + end.pending, 0)
      await print(context, { ...report, records, pending, roots: proofs.roots, problems }, [
        ...problems.map(({ code, where, detail }) => `problem ${where}: ${code}: ${detail}`),
        ...(pending === 0
          ? []
          : [`${count(pending)} journal records are not in the tape: the next serve applies them`]),
        `${count(report.chunks)} chunks, ${count(report.observations)} observations, ${count(report.trades)} trades, ${count(report.samples)} samples, ${count(records)} journal records, ${count(proofs.roots)} signed roots: ${problems.length === 0 ? 'all sound' : `${problems.length} problems`}`,
      ])
      return problems.length === 0 ? 0 : 1
    } finally {
      bar.end()
      await store.close()
    }
  },
})

// Reads every block of a journal; returns how many records there are.
function readWhole(dir: string, venue: VenueId, problems: Problem[]): number {
  let records = 0
  try {
    for (const item of readJournal({ dir, venue })) {
      if (item.kind === 'block') records += item.count
      else if (item.reason !== 'torn_tail') {
        const detail = `${item.reason}: records from ${item.firstMissing} at byte ${item.offset}`
        problems.push({ code: 'corrupt_journal', where: item.file, detail })
      }
    }
  } catch (error) {
    // A storage that does not answer has been named by then.
    if (!(error instanceof PriorbookError)) throw error
    problems.push({ code: error.code, where: `journal of ${venue}`, detail: error.message })
  }
  return records
}
