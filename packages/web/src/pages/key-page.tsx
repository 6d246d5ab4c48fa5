import { createClient, type PriorbookClient } from '@priorbook/sdk/client'
import { useMemo, useState } from 'preact/hooks'
import { key, keepKey } from '../app/key.ts'
import { createPanel } from '../app/panel.ts'
import { isStartKey } from '../app/start-key.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'
import { useLoad } from '../app/use-load.ts'
import { printBytes, printCount } from '../model/decimal.ts'
import { Facts, venueLetter } from '../ui/words.tsx'
import { PanelBox } from '../ui/panel.tsx'
import { TroubleNote } from '../ui/trouble-note.tsx'
import { ScrollBox } from '../ui/scroll-box.tsx'

/** The visitor's key: a form to enter it, and what it allows. */
export function KeyPage() {
  return (
    <main id="main" class="page key-page">
      <div class="page-head">
        <h1>Key</h1>
      </div>
      <KeyForm />
      {key.value === undefined ? (
        <PanelBox title="Without a key">
          <p>
            You see demonstration data: emulated or sample markets, live and past, with all features
            of the explorer. With a key you see the markets that this service records. Operators
            create one with <code>priorbook-server keys create --plan quant</code>.
          </p>
        </PanelBox>
      ) : (
        <KeyFacts key={key.value} />
      )}
    </main>
  )
}

function KeyForm() {
  const [text, setText] = useState('')
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined)
  const [isChecking, setChecking] = useState(false)
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    setChecking(true)
    setTrouble(undefined)
    try {
      const wanted = text.trim()
      await createClient({ url: location.origin, key: wanted, retries: 0 }).whoami()
      keepKey(wanted)
      setText('')
    } catch (error) {
      setTrouble(toTrouble(error))
    } finally {
      setChecking(false)
    }
  }
  return (
    <PanelBox title={key.value === undefined ? 'Paste a key' : 'Another key'}>
      <form class="key-form" onSubmit={(event) => void save(event)}>
        <label>
          <span>Key</span>
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder="pb_live_…"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={text.trim() === '' || isChecking}>
          {isChecking ? 'Checking…' : 'Use this key'}
        </button>
        {key.value !== undefined && (
          <button type="button" class="plain" onClick={() => keepKey(undefined)}>
            Forget my key
          </button>
        )}
      </form>
      <p class="quiet">
        The key is kept in this browser’s storage. It is sent only to this service, in a header and
        never in an address.
      </p>
      {trouble !== undefined && <TroubleNote trouble={trouble} />}
    </PanelBox>
  )
}

function KeyFacts() {
  const panel = useMemo(createPanel, [key.value])
  const load = useLoad(
    async (signal) => {
      panel.note('whoami')
      const who = await panel.client.whoami({ signal })
      panel.note('limits')
      const limits = await panel.client.limits({ signal })
      panel.note('usage', { days: 30 })
      const usage = await panel.client.usage({ days: 30 }, { signal })
      return { who: who.data, limits: limits.data, usage: usage.data }
    },
    [panel],
    10_000,
  )
  const { data, trouble } = load
  if (data === undefined) {
    return trouble === undefined ? <p class="quiet">Loading…</p> : <TroubleNote trouble={trouble} />
  }
  const { who, limits, usage } = data
  return (
    <>
      <PanelBox title="What it allows" calls={panel.calls}>
        {isStartKey() && (
          <p class="quiet">
            The start of this service printed this key. It was put in place because this browser
            runs on the same machine.
          </p>
        )}
        <Facts class="facts wide-facts" facts={factsOf(who, limits)} />
        <Rates limits={limits} />
      </PanelBox>
      <PanelBox title="Usage of 30 days">
        {usage.length === 0 ? (
          <p class="quiet">The key has not been used yet.</p>
        ) : (
          <UsageTable usage={usage} />
        )}
      </PanelBox>
    </>
  )
}

type Who = Awaited<ReturnType<PriorbookClient['whoami']>>['data']
type Limits = Awaited<ReturnType<PriorbookClient['limits']>>['data']
type Usage = Awaited<ReturnType<PriorbookClient['usage']>>['data']

function factsOf(who: Who, limits: Limits): (readonly [string, string])[] {
  return [
    ['Plan', who.plan],
    ['Key', `${who.key_prefix}…${who.key_last_four}`],
    ['Name', who.name === '' ? '–' : who.name],
    ['Expires', who.expires_time?.slice(0, 19).replace('T', ' ') ?? 'never'],
    ['Venues', who.venues.map(venueLetter).join(', ')],
    ['Assets', who.assets === null ? 'all' : who.assets.join(', ')],
    ['History', who.history_days === null ? 'all' : `${who.history_days} days`],
    ['More', who.features.length === 0 ? '–' : who.features.join(', ').replaceAll('_', ' ')],
    ['Rows per page', `up to ${printCount(limits.page.max)}`],
    ['Downloads', limits.bulk_days === null ? 'any length' : `${limits.bulk_days} days at once`],
  ]
}

function Rates({ limits }: { readonly limits: Limits }) {
  return (
    <div class="rates">
      {limits.rates.length === 0 && <p class="quiet">No rate limit.</p>}
      {limits.rates.map((rate) => (
        <div key={rate.limit} class="rate">
          <span>
            {printCount(rate.quota)} requests in {rate.window_seconds} s
          </span>
          <meter
            min={0}
            max={rate.quota}
            value={rate.remaining}
            aria-label={`left of ${rate.limit}`}
          />
          <span class="quiet">{printCount(rate.remaining)} left</span>
        </div>
      ))}
    </div>
  )
}

const USAGE_HEADS = ['Day', 'Route', 'Requests', 'Refused', 'Limited', 'Rows', 'Bytes']

function UsageTable({ usage }: { readonly usage: Usage }) {
  return (
    <ScrollBox label="Usage">
      <table>
        <thead>
          <tr>
            {USAGE_HEADS.map((name, index) => (
              <th key={name} scope="col" class={index < 2 ? '' : 'num'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {usage.toReversed().map((row) => (
            <tr key={`${row.day} ${row.route}`}>
              <td>{row.day}</td>
              <td>{row.route}</td>
              <td class="num">{printCount(row.requests)}</td>
              <td class="num">{printCount(row.refused)}</td>
              <td class="num">{printCount(row.limited)}</td>
              <td class="num">{printCount(row.rows)}</td>
              <td class="num">{printBytes(row.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}
