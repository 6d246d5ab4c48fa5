import { render } from 'preact'
import { App } from './app.tsx'
import { startRouter } from './app/router.ts'
import { startTheme } from './app/theme.ts'
import './style.css'
import './compare.css'

startTheme()
startRouter()
render(<App />, document.getElementById('app')!)
