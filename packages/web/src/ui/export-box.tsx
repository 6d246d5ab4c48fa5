import { useSignal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { printBytes, printCount } from '../model/decimal.ts'
import {
  FILE_FORMATS,
  formatsOf,
  isList,
  JOINED_FORMATS,
  MAX_ANSWER_ROWS,
  toAnswerFile,
  toFirstPage,
  type ExportScope,
} from '../model/export.ts'
import type { ApiCall } from '../model/snippet.ts'
import { ExportJob } from '../session/export-job.ts'
import { ApiCalls } from './api-calls.tsx'
import { savePicture } from './picture.ts'
import { saveFile } from './save-file.ts'
import { Segments } from './segments.tsx'

type BoxProps = {
  readonly title: string
  readonly calls: ReadonlySignal<readonly ApiCall[]>
  readonly scope: (() => ExportScope | undefined) | undefined
  readonly box: { readonly current: HTMLElement | null }
  /** The name of a file with every page of every request; without it a file is the last request's answer. */
  readonly whole?: string | undefined
}

/** Saves what a list shows, and the requests behind it; for pages that are one list. */
export function ListTools(props: {
  readonly title: string
  readonly calls: ReadonlySignal<readonly ApiCall[]>
  /** The request of the file, where it is not that of the page. */
  readonly exported?: ReadonlySignal<readonly ApiCall[]>
  readonly whole?: string
}) {
  const { title, calls, exported = calls, whole } = props
  return (
    <>
      <ExportBox title={title} calls={exported} scope={undefined} box={NO_BOX} whole={whole} />
      <ApiCalls calls={calls} />
    </>
  )
}

const NO_BOX = { current: null }

/** Saves what a panel shows: its rows as a file in any format, or its chart as a picture. */
export function ExportBox(props: BoxProps) {
  const isOpen = useSignal(false)
  if (props.calls.value.length === 0) return null
  return (
    <details class="box export" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>Export</summary>
      {isOpen.value && <ExportForm {...props} />}
    </details>
  )
}

function ExportForm({ title, calls, scope, box, whole }: BoxProps) {
  const job = useMemo(() => new ExportJob(), [])
  useEffect(() => () => job.cancel(), [job])
  const given = useMemo(() => scope?.(), [])
  const chart = box.current?.querySelector('.chart canvas') ?? null
  return (
    <form onSubmit={(event) => event.preventDefault()} aria-label={`Export ${title}`}>
      {given?.all !== undefined ? (
        <FileFields job={job} scope={given} />
      ) : whole !== undefined ? (
        <WholeFields job={job} calls={calls.value} name={whole} />
      ) : (
        <AnswerFields job={job} calls={calls.value} />
      )}
      {chart !== null && (
        <button type="button" onClick={() => void savePicture(box.current!, title)}>
          Save chart as PNG
        </button>
      )}
      {job.trouble.value !== undefined && (
        <p class="trouble-line" role="alert">
          {job.trouble.value.title}. {job.trouble.value.text}
        </p>
      )}
    </form>
  )
}

// All rows of a dataset, in the span of the charts or everything.
function FileFields(props: { readonly job: ExportJob; readonly scope: ExportScope }) {
  const { job, scope: given } = props
  const format = useSignal<(typeof FILE_FORMATS)[number]>('csv')
  const span = useSignal<'shown' | 'all'>('shown')
  const metric = useSignal(given.metrics?.[0])
  const scope = useMemo(
    () =>
      metric.value === undefined
        ? given
        : { ...given, params: { ...given.params, metric: metric.value } },
    [metric.value],
  )
  const range = (span.value === 'shown' ? scope.shown : undefined) ?? scope.all!
  useEffect(
    () => void job.look(scope, format.value, range),
    [format.value, scope, range.from, range.to],
  )
  const estimate = job.estimate.value
  const received = job.received.value
  return (
    <>
      <Segments
        label="Format"
        value={format.value}
        choices={FILE_FORMATS.map((name) => [name, name] as const)}
        onChange={(name) => (format.value = name)}
      />
      {metric.value !== undefined && (
        <Segments
          label="Metric"
          value={metric.value}
          choices={given.metrics!.map((name) => [name, name.replace('_', ' ')] as const)}
          onChange={(name) => (metric.value = name)}
        />
      )}
      <Segments
        label="Rows"
        value={span.value}
        choices={[
          ['shown', 'Shown span'],
          ['all', 'Everything'],
        ]}
        onChange={(name) => (span.value = name)}
      />
      <p class="quiet estimate" role="status">
        {estimate === undefined
          ? 'Counting rows…'
          : `About ${printCount(estimate.rows)} rows, ${printBytes(estimate.bytes)}`}
      </p>
      <SaveButton
        job={job}
        run={async () => save(await job.download(scope, format.value, range))}
      />
      {received !== undefined && (
        <>
          <progress max={Math.max(1, estimate?.bytes ?? 1, received)} value={received} />
          <span class="quiet">{printBytes(received)}</span>
        </>
      )}
      <ApiCalls calls={job.panel.calls} />
    </>
  )
}

// The answers of the panel's own requests.
function AnswerFields(props: { readonly job: ExportJob; readonly calls: readonly ApiCall[] }) {
  const { job, calls } = props
  const call = calls.at(-1)!
  const formats = formatsOf(call)
  const format = useSignal(formats[0]!)
  const { url, name } = toAnswerFile(call, format.value)
  return (
    <>
      <Segments
        label="Format"
        value={format.value}
        choices={formats.map((one) => [one, one] as const)}
        onChange={(one) => (format.value = one)}
      />
      <p class="quiet">
        The answer of {new URL(url).pathname}
        {isList(call) && `, up to ${printCount(MAX_ANSWER_ROWS)} rows`}
      </p>
      <SaveButton job={job} run={async () => save(await job.fetchAnswer(url, name))} />
    </>
  )
}

// Every row of the panel's own requests, those that it does not show included.
function WholeFields(props: {
  readonly job: ExportJob
  readonly calls: readonly ApiCall[]
  readonly name: string
}) {
  const { job, calls, name } = props
  const format = useSignal<(typeof JOINED_FORMATS)[number]>('csv')
  const run = async (): Promise<void> => {
    const urls = calls.map((call) => toFirstPage(call, format.value))
    save(await job.fetchPages(urls, `priorbook-${name}.${format.value}`))
  }
  return (
    <>
      <Segments
        label="Format"
        value={format.value}
        choices={JOINED_FORMATS.map((one) => [one, one] as const)}
        onChange={(one) => (format.value = one)}
      />
      <p class="quiet">Every row of {new URL(calls[0]!.url).pathname}, by reason</p>
      <SaveButton job={job} run={run} />
    </>
  )
}

function SaveButton({ job, run }: { readonly job: ExportJob; readonly run: () => Promise<void> }) {
  return job.received.value === undefined ? (
    <button type="button" class="main-button" onClick={() => void run()}>
      Download
    </button>
  ) : (
    <button type="button" onClick={() => job.cancel()}>
      Cancel
    </button>
  )
}

function save(file: File | undefined): void {
  if (file !== undefined) saveFile(file)
}
