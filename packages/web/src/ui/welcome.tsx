import { key } from '../app/key.ts'
import { isStartKey } from '../app/start-key.ts'
import type { DataOrigin } from '../model/data-origin.ts'

/** The head of the start page: what this is, which data it shows, and how demo and own data differ. */
export function Welcome({ origin }: { readonly origin: DataOrigin | undefined }) {
  return (
    <div class="home-intro">
      <h1>Order books of prediction markets, as they were recorded</h1>
      <p>
        Priorbook records every level of every book with the venue’s and its own times, and gives
        back the book of any instant. Time without a recording is shown as a gap, never filled in.
      </p>
      {origin !== undefined && <OriginNote origin={origin} />}
      <details class="origins">
        <summary>Demo or your own data: what is the difference?</summary>
        <Differences />
      </details>
      <nav class="first-steps" aria-label="First steps">
        <a href="/markets">Find a market</a>
        <a href="/contracts">Compare venues</a>
        <a href="/coverage">See what is missing</a>
        <a href="/backtest">Open a backtest</a>
        <a href="/docs" target="_self">
          Read the docs
        </a>
      </nav>
    </div>
  )
}

function OriginNote({ origin }: { readonly origin: DataOrigin }) {
  const hasKey = key.value !== undefined
  return (
    <p class="origin" data-origin={origin}>
      {origin === 'recorded' ? (
        <>
          <strong>Your own data.</strong> You see what this installation records from the venues.
        </>
      ) : (
        <>
          <strong>This is the demo.</strong>{' '}
          {origin === 'emulated'
            ? 'Three emulated venues run beside this service and invent markets that behave like real ones; their prices mean nothing.'
            : 'You see an invented sample of a few markets; its prices mean nothing.'}{' '}
          {!hasKey && (
            <>
              No key is needed for it. With <a href="/key">a key</a> you see what this installation
              records.
            </>
          )}
        </>
      )}
      {isStartKey() && ' The key that the start of this service printed is already in place.'}
    </p>
  )
}

function Differences() {
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label="Demo and own data">
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="sr">What</span>
            </th>
            <th scope="col">Demo</th>
            <th scope="col">Your own data</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Comes from</th>
            <td>emulated venues or an invented sample; no venue is contacted</td>
            <td>what this installation records from the real venues</td>
          </tr>
          <tr>
            <th scope="row">Prices</th>
            <td>mean nothing: they are random</td>
            <td>are those of the venues, byte for byte in the journal</td>
          </tr>
          <tr>
            <th scope="row">Key</th>
            <td>not needed; at most 50 requests per second</td>
            <td>
              needed: <code>priorbook-server keys create --plan quant</code>
            </td>
          </tr>
          <tr>
            <th scope="row">Start</th>
            <td>
              <code>npm start</code>
            </td>
            <td>
              <code>npx priorbook-server serve --upstream live --data data</code>
            </td>
          </tr>
        </tbody>
      </table>
    </div>
  )
}
