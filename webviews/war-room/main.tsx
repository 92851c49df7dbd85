import { render } from "preact";
import { createBridge } from "../shared/bridge.ts";
import { startPage } from "../shared/start.ts";
import { createStore } from "../shared/store.ts";
import { createViewState } from "../shared/view-state.ts";
import { App } from "./app.tsx";
import { createWarRoom, emptyRoom, SavedRoom } from "./state.ts";
import "../shared/shared.css";
import "./war-room.css";

const { api, root } = startPage();
const bridge = createBridge(api);
const store = createStore(bridge);
const room = createWarRoom(bridge, store, createViewState(api, SavedRoom, emptyRoom));
render(<App room={room} />, root);
bridge.ready();
