/** What is said of a span. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A piece of work whose time is measured. */
interface Span {
  /** Ends it, with what is known of it by now; `failure` says why it did not succeed. */
  end(attributes?: SpanAttributes, failure?: string): void
}

/** The span of an HTTP request, which other spans belong to. */
export interface RequestSpan extends Span {
  /** Runs work; the spans that it begins, now or later, are parts of this one. */
  run(work: () => void): void
  rename(name: string): void
}

/** Where spans go. Absent where nothing is traced, so that then nothing but one comparison is done. */
export interface Tracing {
  /** Begins a span, as a part of the one whose work runs now. */
  span(name: string, attributes?: SpanAttributes): Span
  /** Begins the span of an HTTP request, as a part of what its header `traceparent` names. */
  request(headers: Readonly<Record<string, unknown>>, attributes: SpanAttributes): RequestSpan
  /** Sends what is left. */
  close(): Promise<void>
}
