import { ready } from "/assets/perspective-anywidget.js";
await ready;
const viewer = document.querySelector("perspective-viewer");
const { Client } = customElements.get("perspective-viewer").__wasm_module__;
const socket = new WebSocket(location.origin.replace("http","ws")+"/perspective"); socket.binaryType="arraybuffer";
await new Promise(r=>socket.onopen=r);
const client = new Client(async (m)=>{ if(socket.readyState!==1) throw new Error("closed"); console.log("REQ",Array.from(m.slice(0,60)).map(x=>x.toString(16).padStart(2,"0")).join(" "), new TextDecoder().decode(m).replace(/[^ -~]/g,".").slice(0,120)); socket.send(m.slice().buffer);}, ()=>socket.close());
socket.onmessage = e=>client.handle_response(e.data);
socket.onclose = e=>console.log("closed",e.code,e.reason);
await viewer.load(client);
const tab=(...t)=>({type:"tab-layout",tabs:t,selected:0});
const t0=performance.now();
await viewer.restoreWorkspace({layout:{type:"split-layout",orientation:"vertical",sizes:[0.64,0.36],children:[
 {type:"split-layout",orientation:"horizontal",sizes:[0.64,0.36],children:[tab("joined"),{type:"split-layout",orientation:"vertical",sizes:[0.5,0.5],children:[tab("left"),tab("right")]}]},
 tab("logs","control","rejected","status")]},
 panels:{joined:{table:"final_ui",title:"final_ui",columns:["userId","name","email","age","accountType","balance"]},left:{table:"users_ui",title:"users_ui"},right:{table:"accounts_ui",title:"accounts_ui"},
 logs:{table:"orchestrator_logs",title:"orchestrator_logs",columns:["ts","level","msg"],sort:[["ts","desc"]]},control:{table:"control_raw",title:"control_raw"},rejected:{table:"rejected_ui",title:"rejected_ui"},status:{table:"orchestrator_status",title:"orchestrator_status"}}});
console.log("restored", performance.now()-t0, performance.now());
window.viewer=viewer;
console.log(JSON.stringify(await viewer.saveWorkspace()));
document.title="done";
