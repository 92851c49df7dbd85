import { render } from "preact";
import { createBridge } from "../shared/bridge.ts";
import { startPage } from "../shared/start-page.ts";
import { createStore } from "../shared/store.ts";
import { createViewState } from "../shared/view-state.ts";
import { App } from "./war-room-app.tsx";
import { createWarRoom } from "./war-room-state.ts";
import { emptyWarRoom, SavedWarRoom } from "./war-room-types.ts";
import "../shared/shared.css";
import "./war-room.css";

const { api, root } = startPage();
const bridge = createBridge(api);
const store = createStore(bridge);
const warRoom = createWarRoom(bridge, store, createViewState(api, SavedWarRoom, emptyWarRoom));
render(<App warRoom={warRoom} />, root);
bridge.ready();
