import { VENUE_IDS, VENUES } from '@priorbook/sdk/domain'
import type { AlertCreatedJson, AlertJson } from '@priorbook/sdk/wire'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { key } from '../app/key.ts'
import { createPanel, type Panel } from '../app/panel.ts'
import { go } from '../app/router.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'
import { useLoad } from '../app/use-load.ts'
import { EMPTY_DRAFT, toAlertCommand, type AlertDraft } from '../model/alert-draft.ts'
import { printCount } from '../model/decimal.ts'
import type { AlertPlace } from '../model/place.ts'
import { AlertList, type AlertPage } from '../session/alert-list.ts'
import { AlertForm } from '../ui/alert-form.tsx'
import { AlertTable, titleOf } from '../ui/alert-table.tsx'
import { CopyButton } from '../ui/api-calls.tsx'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { DeliveryTable } from '../ui/delivery-table.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { TroubleNote } from '../ui/trouble-note.tsx'
import '../ui/alerts.css'

const EVERY_MS = 2000
// Rules and deliveries that are shown at a time.
const STEP = 50

/** The visitor's alerts: rules, what became of their events, and a form for a new one. */
export function AlertsPage({ view }: { readonly view: AlertPlace }) {
  return (
    <main id="main" class="page alerts-page">
      <div class="page-head">
        <h1>Alerts</h1>
        <p class="quiet">
          A rule watches what is recorded and sends what happens to your webhook.{' '}
          <a href="/guides/reference/alerts">When a rule fires, and how to check a delivery</a>
        </p>
      </div>
      {key.value === undefined ? <NoKey /> : <Alerts key={key.value} view={view} />}
    </main>
  )
}

function NoKey() {
  return (
    <PanelBox title="Alerts need a key">
      <p>
        A rule belongs to the key that created it, so the demo has none.{' '}
        <a href="/key">Paste a key</a> to create one.
      </p>
      <AboutAlerts />
    </PanelBox>
  )
}

// The example is about all rounds of an asset and a window, which this venue has.
const EXAMPLE_VENUE = VENUE_IDS.find((venue) => VENUES[venue].booksPer === 'token')!

function AboutAlerts() {
  const watch = 'priorbook alert venueb:KXBTC15M-26AUG111515-15 --above 0.9 --rearm 0.05'
  const send = toAlertCommand({
    kind: 'price',
    venue: EXAMPLE_VENUE,
    asset: 'btc',
    window: '15m',
    above: '0.9',
    rearm: '0.05',
    webhook: 'https://example.org/hook',
  })
  return (
    <div class="about-alerts">
      <p>
        A rule can wait for a price, a spread, the depth of a book, an edge between venues, a gap in
        the recording or a resolution. It fires once when its value passes the threshold and again
        after the value has come back, never across a gap. Every event is signed and sent until your
        server has taken it.
      </p>
      <p>On the command line, without a webhook, printed as it happens:</p>
      <Command text={watch} />
      <p>Or sent to a webhook by the service, as by the form of this page:</p>
      <Command text={send} />
    </div>
  )
}

function Command({ text }: { readonly text: string }) {
  return (
    <p class="command">
      <code>{text}</code>
      <CopyButton text={text} label="Copy the command" />
    </p>
  )
}

function Alerts({ view }: { readonly view: AlertPlace }) {
  const list = useMemo(() => new AlertList(), [])
  const panel = useMemo(createPanel, [])
  const [shown, setShown] = useState(STEP)
  const [turn, setTurn] = useState(0)
  const [created, setCreated] = useState<AlertCreatedJson>()
  const { data, trouble } = useLoad((signal) => list.read(shown, signal), [shown, turn], EVERY_MS)
  const again = (): void => setTurn((before) => before + 1)
  const show = (alert: string | undefined): void =>
    go({ page: 'alerts', ...view, alert }, 'replace')
  const opened = data?.rows.find(({ alert }) => alert.alert_id === view.alert)?.alert
  return (
    <>
      {created !== undefined && <Secret created={created} onClose={() => setCreated(undefined)} />}
      <PanelBox
        title="Your rules"
        calls={list.panel.calls}
        count={data?.rows.length}
        tools={data !== undefined && <span class="quiet">{restOf(data)}</span>}
      >
        {trouble !== undefined && <TroubleNote trouble={trouble} />}
        {data === undefined && trouble === undefined && <p class="quiet">Loading…</p>}
        {data?.isKept === false && (
          <p class="remark">
            This installation keeps no alerts. Follow a rule on the command line instead.
          </p>
        )}
        {data !== undefined && data.rows.length === 0 && <AboutAlerts />}
        {data !== undefined && data.rows.length > 0 && (
          <Rules
            data={data}
            panel={panel}
            shown={shown}
            selected={view.alert}
            onMore={() => setShown(shown + STEP)}
            onShow={show}
            onChanged={again}
          />
        )}
      </PanelBox>
      {opened !== undefined && (
        <Deliveries key={opened.alert_id} alert={opened} onClose={() => show(undefined)} />
      )}
      {data?.isKept !== false && (
        <PanelBox title="New rule" class="new-rule">
          <AlertForm
            key={`${view.venue} ${view.marketId} ${view.contractId}`}
            panel={panel}
            start={draftOf(view)}
            onCreated={(one) => {
              setCreated(one)
              again()
            }}
          />
        </PanelBox>
      )}
    </>
  )
}

function restOf({ rows, most, hasMore }: AlertPage): string {
  return hasMore
    ? `The first ${printCount(rows.length)}; priorbook alert --list has all`
    : `${printCount(rows.length)} of ${printCount(most)} in your plan`
}

function draftOf({ venue, marketId = '', contractId = '' }: AlertPlace): AlertDraft {
  const kind = contractId === '' ? 'price' : 'edge'
  return { ...EMPTY_DRAFT, kind, venue: venue ?? '', marketId, contractId }
}

/** The secret of a rule that was just created: it is in no other answer. */
function Secret(props: { readonly created: AlertCreatedJson; readonly onClose: () => void }) {
  const { created, onClose } = props
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    box.current?.focus()
    box.current?.scrollIntoView({ block: 'nearest' })
  }, [created])
  return (
    <section class="note secret" aria-label="Signing secret" tabIndex={-1} ref={box}>
      <strong>“{titleOf(created)}” is watching. Keep its signing secret now.</strong>
      <p>
        It signs every delivery of this rule, so that your server can check who sent it. It is shown
        this once and cannot be read again.
      </p>
      <p class="command">
        <code class="secret-text">{created.secret}</code>
        <CopyButton text={created.secret} label="Copy the secret" />
      </p>
      <p class="note-actions">
        <button type="button" onClick={onClose}>
          I have kept it
        </button>
        <a href="/guides/reference/alerts#verify-a-delivery">How to verify a delivery</a>
      </p>
    </section>
  )
}

function Rules(props: {
  readonly data: AlertPage
  readonly panel: Panel
  readonly shown: number
  readonly selected: string | undefined
  readonly onMore: () => void
  readonly onShow: (id: string | undefined) => void
  readonly onChanged: () => void
}) {
  const { data, panel, shown, selected, onShow, onChanged } = props
  const [leaving, setLeaving] = useState<AlertJson>()
  const [trouble, setTrouble] = useState<Trouble>()
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setTrouble(undefined)
    try {
      await work()
    } catch (error) {
      setTrouble(toTrouble(error))
    }
    onChanged()
  }
  const test = ({ alert_id: id }: AlertJson): Promise<void> =>
    run(async () => {
      await panel.client.testAlert(id)
      onShow(id)
    })
  const remove = ({ alert_id: id }: AlertJson): Promise<void> =>
    run(async () => {
      await panel.client.deleteAlert(id)
      if (selected === id) onShow(undefined)
    })
  return (
    <>
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      <AlertTable
        rows={data.rows}
        shown={shown}
        selected={selected}
        onShow={({ alert_id: id }) => onShow(id === selected ? undefined : id)}
        onTest={(alert) => void test(alert)}
        onDelete={setLeaving}
      />
      {data.rows.length > shown && (
        <button type="button" class="plain" onClick={props.onMore}>
          Show {Math.min(STEP, data.rows.length - shown)} more
        </button>
      )}
      {leaving !== undefined && (
        <ConfirmDialog
          title="Delete this rule?"
          action="Delete rule"
          onConfirm={() => void remove(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          <p>
            “{titleOf(leaving)}” stops watching. Its list of deliveries and{' '}
            {leaving.pending === 1
              ? 'one event that waits'
              : `${printCount(leaving.pending)} events that wait`}{' '}
            for delivery are deleted with it.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

function Deliveries(props: { readonly alert: AlertJson; readonly onClose: () => void }) {
  const { alert, onClose } = props
  const { alert_id: id } = alert
  const panel = useMemo(createPanel, [])
  const [shown, setShown] = useState(STEP)
  const load = useLoad(
    async (signal) => {
      const params = { limit: shown }
      panel.note('alertDeliveries', params, id)
      return panel.client.alertDeliveries(id, params, { signal }).page()
    },
    // The counts of the rule change as soon as something happens to an event.
    [shown, alert.fired, alert.pending, alert.delivered, alert.dropped, alert.last_error],
  )
  const { data, trouble } = load
  const close = (
    <button type="button" class="plain" onClick={onClose}>
      Close
    </button>
  )
  return (
    <PanelBox title={`Deliveries of “${titleOf(alert)}”`} calls={panel.calls} tools={close}>
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
      {data !== undefined &&
        (data.data.length === 0 ? (
          <p class="quiet">Nothing has happened yet. “Test” sends an event at once.</p>
        ) : (
          <DeliveryTable rows={data.data} />
        ))}
      {data !== undefined && data.resume !== null && shown < 1000 && (
        <button type="button" class="plain" onClick={() => setShown(shown + STEP)}>
          Show {STEP} more
        </button>
      )}
    </PanelBox>
  )
}
