import { render } from 'preact'
import { App } from './app.tsx'
import { startRouter } from './app/router.ts'
import { placeStartKey } from './app/start-key.ts'
import { startTheme } from './app/theme.ts'
import './style.css'
import './compare.css'

startTheme()
startRouter()
void placeStartKey().finally(() => render(<App />, document.getElementById('app')!))
